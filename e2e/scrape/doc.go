// Package scrape reads the metrics of processes in Prometheus' text format, and Go profiles, over HTTP.
package scrape
