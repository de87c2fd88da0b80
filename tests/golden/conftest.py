"""Golden data holds Python files of other people's metrics; they are data, not tests."""

collect_ignore_glob = ["data/*"]
