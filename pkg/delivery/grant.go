package delivery

import (
	"errors"
	"fmt"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// unrendered says in the user's terms why an Application has no ManifestWork.
func unrendered(err error) answer {
	if large, ok := errors.AsType[*work.TooLargeError](err); ok {
		return because("%s: move inline values and manifests into the Git repository, or split the Application", large)
	}
	return answer{Words: fmt.Sprintf("the Application cannot be read: %s: correct the field", err), Reason: apis.ReasonSpecInvalid}
}

// refused is a refusal of who gives rights.
func refused(r *authorization.Refusal) answer {
	if r == nil {
		return open
	}
	return answer{Words: r.Message, Reason: r.Reason}
}

// askSpec is for an Application of which cannot be read what it asks for.
func askSpec(d *decision, _ question) answer {
	if d.Unreadable != nil {
		return unrendered(d.Unreadable)
	}
	return open
}

// askGrant is for an Application that may not go where its spec asks to go. The content of a work that was
// sent before stays: revoke and freeze look at what that one carries.
func askGrant(d *decision, _ question) answer { return refused(d.Refused) }

func askExecutor(d *decision, _ question) answer { return answer{Words: d.ExecutorInvalid} }

// withhold finds out whether the operation that a permitted Application requests may travel. It is held where it is, so that
// it can be taken back or terminated, or go when it is permitted; all else of the Application goes on.
func (d *decision) withhold() {
	if d.App.Operation == nil {
		return
	}
	_, err := authorization.Read(d.App)
	if err == nil {
		_, err = relay.WithID(d.App.Operation.Raw, "") // it gets one when it is sent
	}
	if err != nil {
		d.withheld = d.met("operation", unreadOperation(err))
		return
	}
	if r := d.OperationRefused; r != nil {
		d.withheld = d.met("operation grant",
			answer{Words: "the requested operation is held back, and can be terminated: " + r.Message, Reason: r.Reason})
	}
}

func unreadOperation(err error) answer {
	return because("the requested operation cannot be read: %s: request it again", err)
}
