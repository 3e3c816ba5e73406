"""Programs that write pages of the documentation; tests compare the pages with them."""
