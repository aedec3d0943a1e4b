"""Index boxes: rectangular ranges of global indices."""
