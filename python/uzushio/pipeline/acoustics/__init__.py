"""Far field of sound from a permeable surface: surface, samples, radiation, levels."""
