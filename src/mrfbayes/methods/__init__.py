"""The methods: one file or one package for each, and one row for each in the registry."""
