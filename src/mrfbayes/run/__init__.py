"""Running chains: the driver, its checkpoints, its workers."""
