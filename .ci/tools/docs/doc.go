// Command docs generates pages of docs/reference from the code: metrics, conditions and reasons, labels and
// annotations, and the values of the chart. The command also edits the page of the CRDs from crd-ref-docs. `make
// generate` runs the command in the root of the repository. `make verify` fails while the pages differ from the
// command's output.
//
// The command reads source files, YAML, the chart's JSON schema and crds.md. The command does not run Towline, and
// writes only these pages.
package main
