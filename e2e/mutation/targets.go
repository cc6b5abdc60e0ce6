package mutation

// Targets are what command mutate changes: what says what may go where, what is believed of what a cluster says, how a plan is put
// together, and how it is carried out.
var Targets = []Target{
	{Package: "pkg/authorization"},
	{Package: "pkg/feedback"},
	{Package: "pkg/delivery", Files: []string{"decide.go", "draft.go"}},
	{Package: "controllers/propagation", Files: []string{"apply.go"}},
}
