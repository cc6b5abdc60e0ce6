package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// remoteControl calls the supervisor of another process through its socket.
type remoteControl struct{ client *http.Client }

func newRemoteControl(socket string) remoteControl {
	return remoteControl{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

func (c remoteControl) status(ctx context.Context) (Status, error) {
	var status Status
	body, err := c.do(ctx, http.MethodGet, "/status", nil)
	if err == nil {
		err = json.Unmarshal(body, &status)
	}
	return status, err
}

func (c remoteControl) act(ctx context.Context, action, plane, what string) error {
	_, err := c.do(ctx, http.MethodPost, "/"+action, url.Values{"plane": {plane}, "what": {what}})
	return err
}

func (c remoteControl) do(ctx context.Context, method, path string, form url.Values) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://fleet"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(body)))
	}
	return body, err
}

// Connect returns the running fleet of another process, by the state directory. An empty dir means the default state
// directory.
func Connect(ctx context.Context, dir string) (*Fleet, error) {
	opts := Options{Dir: dir}
	if err := opts.completeDirs(); err != nil {
		return nil, err
	}
	dirs := paths{opts.Dir}
	remote := newRemoteControl(dirs.socket())
	status, err := remote.status(ctx)
	if err != nil {
		return nil, fmt.Errorf("no fleet runs in %s (start one with `fleet up`): %w", dirs.root, err)
	}
	if !status.Ready {
		return nil, fmt.Errorf("the fleet in %s is starting or stopping: try again when `fleet status` shows it ready", dirs.root)
	}
	return newFleet(dirs, status, remote)
}

// ReadStatus returns the status of a running or starting fleet.
func ReadStatus(ctx context.Context, dir string) (Status, error) {
	opts := Options{Dir: dir}
	if err := opts.completeDirs(); err != nil {
		return Status{}, err
	}
	dirs := paths{opts.Dir}
	status, err := newRemoteControl(dirs.socket()).status(ctx)
	if err != nil {
		return status, fmt.Errorf("no fleet runs in %s (start one with `fleet up`): %w", dirs.root, err)
	}
	return status, nil
}

// Down asks a running fleet to end, and waits for the end.
func Down(ctx context.Context, dir string) error {
	status, err := ReadStatus(ctx, dir)
	if err != nil {
		return err
	}
	remote := newRemoteControl(paths{status.Dir}.socket())
	if err := remote.act(ctx, actDown, "", ""); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("the end was requested a minute ago; if process %d "+
		"is a test of your own, end the test", status.Supervisor.PID))
	defer cancel()
	lock := paths{status.Dir}.lock()
	return poll(ctx, 100*time.Millisecond, func(context.Context) error {
		unlock, err := tryLock(lock)
		if err != nil {
			return fmt.Errorf("process %d is still stopping: %w", status.Supervisor.PID, err)
		}
		unlock()
		return nil
	})
}
