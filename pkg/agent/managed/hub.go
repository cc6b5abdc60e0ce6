package managed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/managedresources"
)

// patience is how long a request to the hub may take, with the body.
const patience = time.Minute

// maxText is the maximum length of a shown error text from the hub.
const maxText = 500

// The answers of the hub that concern a single Application. errFull is a part of errRefused.
var (
	errUnknown = errors.New("the hub does not have this entry")
	errAbsent  = errors.New("the hub does not deliver the Application")
	errRefused = errors.New("the hub does not take the entry")
	errFull    = errors.New("no room for the entry")
	errBusy    = errors.New("the hub is busy")
)

// hub sends requests to towline-source with the identity of the agent.
type hub struct {
	address   *url.URL
	client    *http.Client
	namespace string
}

// put replaces the entry of a work's Application on the hub.
func (h *hub) put(ctx context.Context, work string, body []byte) error {
	return h.do(ctx, http.MethodPut, work, nil, body)
}

// renew extends the life of the entry, if the hub has the entry with this digest of the body.
func (h *hub) renew(ctx context.Context, work, digest string) error {
	return h.do(ctx, http.MethodPut, work, url.Values{managedresources.Digest: {digest}}, nil)
}

// remove removes the entry, and tells the reason to the users of the hub.
func (h *hub) remove(ctx context.Context, work string, reason managedresources.Reason) error {
	return h.do(ctx, http.MethodDelete, work, url.Values{managedresources.Because: {string(reason)}}, nil)
}

func (h *hub) do(ctx context.Context, method, work string, parameters url.Values, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	target := *h.address
	target.Path = path.Join("/", target.Path, managedresources.Path(h.namespace, work))
	target.RawQuery = parameters.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/gzip")
	answer, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxText))
	if err != nil {
		return err
	}
	return meaning(answer.StatusCode, strings.TrimSpace(string(text)))
}

// meaning returns the error of an answer. An error other than the errors above concerns all Applications.
func meaning(code int, text string) error {
	switch {
	case code == http.StatusNoContent:
		return nil
	case code == http.StatusConflict:
		return errUnknown
	case code == http.StatusNotFound && text == managedresources.Absent:
		return errAbsent
	case code == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %w", errRefused, managedresources.ErrTooLarge)
	case code == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %w: %s", errRefused, errFull, text)
	case code == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %s", errRefused, text)
	case code == http.StatusTooManyRequests:
		return errBusy
	case code == http.StatusNotFound:
		return errors.New("the hub takes no managed resources: start towline-source there with --managed-resources")
	}
	return fmt.Errorf("the hub answers %d: %s", code, text)
}
