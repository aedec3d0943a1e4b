"""Internal: what all packages use: files, configuration, the MPI job, arrays in stores."""
