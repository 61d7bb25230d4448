"""Documents in, strings out: text, JSON, HTML and Prometheus textfile."""
