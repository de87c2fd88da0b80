"""The plugin of pytest, which it loads in every project where bridgeval is installed: a gate, and the laws of plugins.

None of these modules imports anything else of bridgeval before it is used.
"""

pytest_plugins = ("bridgeval.pytest_gate", "bridgeval.pytest_laws")
