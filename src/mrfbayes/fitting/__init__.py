"""From data to a report in one call: `mrfbayes.fit`."""
