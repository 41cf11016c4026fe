"""The folder that the launcher puts first on PYTHONPATH; see `sitecustomize`."""
