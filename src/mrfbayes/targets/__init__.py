"""What is drawn from: target densities, their checks and their evidence."""
