package source

// Kind is the kind of the objects of Resource.
const Kind = "Repository"

// A Failure is why the hub cannot read a repository. towline-source writes the Failure into the status of the Repository,
// and `kubectl towline why` reads the Failure.
type Failure struct {
	// Error is the error of the last look at the Git server, or of the credential. Only users of the hub read the error.
	Error string `json:"error,omitempty"`

	// Reason is a reason in the table of docs/sources.md, and Message the text that the cluster gets.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}
