package mutation

// Targets are the packages for command mutate. They decide the destinations of Applications, the trust in clusters'
// reports, and the creation and execution of plans.
var Targets = []Target{
	{Package: "pkg/authorization"},
	{Package: "pkg/feedback"},
	{Package: "pkg/delivery", Files: []string{"decide.go", "draft.go"}},
	{Package: "controllers/propagation", Files: []string{"apply.go"}},
}
