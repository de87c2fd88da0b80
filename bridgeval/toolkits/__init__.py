"""One folder for each toolkit bridged. None of them knows another; the engine knows none of them."""
