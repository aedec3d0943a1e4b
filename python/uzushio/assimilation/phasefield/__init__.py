"""The phase field as a model of assimilations: its case sections, its adapter and its tunables."""
