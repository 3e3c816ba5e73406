"""Options that several commands share, with what reads them."""
