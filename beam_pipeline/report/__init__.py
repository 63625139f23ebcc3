"""`report.html`: what became of the documents of a corpus, on one page that opens offline."""
