// Package scrape reads what processes tell of themselves over HTTP: metrics in Prometheus' text format, and Go profiles.
package scrape
