"""Run of a case: loop, folder, lock, progress, publishing, results, restart."""
