"""Methods that estimate ratios of partition functions from particles."""
