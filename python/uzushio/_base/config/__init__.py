"""Values and errors of YAML files: sections, quantities, lengths, paths, overrides."""
