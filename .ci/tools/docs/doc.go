// Command docs writes the pages of docs/reference that follow from the code: metrics, conditions and reasons, labels and
// annotations, and the values of the chart. `make generate` runs it in the root of the repository, and `make verify` fails
// while the pages are not what it writes.
//
// It reads source files and YAML. It runs nothing of Towline's, and writes no other file.
package main
