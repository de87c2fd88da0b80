"""Trackers and training loops that bridgeval reports to: one module for each library, imported only when it is used.

No module here imports its library before it is asked for something that needs it, except where a class of ours has to
inherit from one of the library's.
"""
