package maestro

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	pb "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// pageSize is the number of bundles in a single list request.
	pageSize = 500

	// requestTimeout ends a hanging request to Maestro.
	requestTimeout = 30 * time.Second

	// maxMessage is the size of the largest gRPC message, in bytes. Maestro's limit is 4 MiB.
	maxMessage = 8 << 20

	// MaxBackoff is about the longest wait between two attempts to connect to the gRPC server.
	MaxBackoff = 10 * time.Second

	// apiPath is the root of Maestro's REST API.
	apiPath = "/api/maestro/v1"
)

// ErrNotFound means that Maestro has no bundle with the id.
var ErrNotFound = errors.New("not found in Maestro")

// Options are the addresses of Maestro, and the identity of the client.
type Options struct {
	// URL is the root of Maestro's REST server: https://maestro.example.com:8000.
	URL string

	// GRPC is the host and port of Maestro's gRPC server.
	GRPC string

	// Source is the name of the client as a writer of works. Maestro sends a source only the events of the source's
	// works.
	Source string

	// CAFile has the certificates of the authorities for Maestro's certificates. Empty means the authorities of the
	// system.
	CAFile string

	// CertFile and KeyFile are the client's certificate and key. The client reads CertFile, KeyFile and CAFile for
	// each connection.
	CertFile, KeyFile string

	// TokenFile has a bearer token. The client reads the file again 50 seconds after the last read.
	TokenFile string

	// Plaintext turns off TLS, for tests on a single machine.
	Plaintext bool
}

// Validate returns an error for each missing or invalid option, with the flag of the option.
func (o *Options) Validate() error {
	var errs []error
	scheme := "https"
	if o.Plaintext {
		scheme = "http"
	}
	if u, err := url.Parse(o.URL); err != nil || u.Scheme != scheme || u.Host == "" {
		errs = append(errs, fmt.Errorf("--maestro-url: %q is not the URL of Maestro's REST server, such as %s://maestro.maestro.svc:8000", o.URL, scheme))
	}
	if o.GRPC == "" || strings.Contains(o.GRPC, "/") {
		errs = append(errs, fmt.Errorf("--maestro-grpc: %q is not the host and port of a gRPC server, such as maestro-grpc.maestro.svc:8090", o.GRPC))
	}
	if o.Source == "" || strings.ContainsAny(o.Source, "'/+# ") {
		errs = append(errs, fmt.Errorf("--source: %q is not a name of letters, digits, dots and dashes", o.Source))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, errors.New("--maestro-cert-file and --maestro-key-file: give both, or none"))
	}
	if o.Plaintext && o.CAFile+o.CertFile+o.TokenFile != "" {
		errs = append(errs, errors.New("--maestro-plaintext: certificates and tokens are not sent without TLS"))
	}
	return errors.Join(errs...)
}

// Client is a client of a single Maestro for a single source.
type Client struct {
	// Source is the name of the client as a writer of works.
	Source string

	url    string
	rest   *http.Client
	conn   *grpc.ClientConn
	events pb.CloudEventServiceClient
}

// New returns a client. The client connects at the first request.
func New(o Options) (*Client, error) {
	who := identity{o.CAFile, o.CertFile, o.KeyFile}
	if _, err := who.config(); err != nil {
		return nil, err // An invalid file is an error now, and not only at the first connection.
	}
	config := &rest.Config{Host: o.URL, BearerTokenFile: o.TokenFile, Timeout: requestTimeout, Transport: who.overHTTP()}
	overHTTP, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("REST client of Maestro: %w", err)
	}
	conn, err := grpc.NewClient(o.GRPC, dialOptions(o, who)...)
	if err != nil {
		return nil, fmt.Errorf("gRPC client of Maestro: %w", err)
	}
	return &Client{
		Source: o.Source, url: strings.TrimSuffix(o.URL, "/") + apiPath, rest: overHTTP, conn: conn, events: pb.NewCloudEventServiceClient(conn),
	}, nil
}

func dialOptions(o Options, who identity) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithNoProxy(), // The REST client also uses no proxy.
		// By default, gRPC may wait up to two minutes for the next attempt. The client would read the REST server
		// long before.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: MaxBackoff},
			MinConnectTimeout: 20 * time.Second, // the default of gRPC
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if o.Plaintext {
		return append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	options = append(options, grpc.WithTransportCredentials(who.overGRPC()))
	if o.TokenFile != "" {
		options = append(options, grpc.WithPerRPCCredentials(oauth.TokenSource{TokenSource: transport.NewCachedFileTokenSource(o.TokenFile)}))
	}
	return options
}

// Close closes the gRPC connection.
func (c *Client) Close() error { return c.conn.Close() }

// Publish requests a change of a work. After an error, Maestro may or may not have made the change.
func (c *Client) Publish(ctx context.Context, event *cloudevents.Event) error {
	message := &pb.CloudEvent{}
	if err := protocol.WritePBMessage(ctx, binding.ToMessage(event), message); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.events.Publish(ctx, &pb.PublishRequest{Event: message})
	return withoutIDs(err)
}

// Unreachable tells whether an error of Publish or Subscribe means a missing answer of Maestro.
func Unreachable(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}

// IsAnswer tells whether Publish failed because of the work: Maestro does not have the version of the work, or refuses
// the content. Maestro uses the same gRPC code for all failures. IsAnswer recognizes failures about a work by the words
// of the message.
func IsAnswer(err error) bool {
	words := status.Convert(err).Message()
	return slices.ContainsFunc([]string{"create", "get", "update", "delete"}, func(done string) bool {
		return strings.HasPrefix(words, "failed to "+done+" resource")
	})
}

// Subscribe passes all events of Maestro for the source to handle, until the connection ends. Maestro does not repeat
// the events from times without a subscription.
func (c *Client) Subscribe(ctx context.Context, handle func(*cloudevents.Event)) error {
	stream, err := c.events.Subscribe(ctx, &pb.SubscriptionRequest{Source: c.Source})
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		if message.GetType() == cetypes.HeartbeatCloudEventsType {
			// A heartbeat has no data, so the library does not accept a heartbeat as an event.
			beat := cloudevents.NewEvent()
			beat.SetType(cetypes.HeartbeatCloudEventsType)
			handle(&beat)
			continue
		}
		event, err := binding.ToEvent(ctx, protocol.NewMessage(message))
		if err != nil {
			return fmt.Errorf("an event of Maestro: %w", err)
		}
		handle(event)
	}
}

// Get reads a bundle. A missing bundle is the error ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (*bundle.Bundle, error) {
	data, err := c.read(ctx, "/resource-bundles/"+url.PathEscape(id))
	if err != nil {
		return nil, err
	}
	return bundle.Read(data)
}

// borders divide the ids (UUIDs) into four ranges. The client lists the ranges at the same time, each range page by
// page, because Maestro needs more than a millisecond for each bundle.
var borders = []string{"", "4", "8", "c", ""}

// List calls each for all bundles of the source, a single bundle at a time. With since, List reads only the bundles
// with a change after since by Maestro's clock. The list is not a snapshot: a bundle changed during the list comes in
// the old or in the new version. A bundle created or removed during the list may be missing. List calls skipped for
// each bundle without a readable work.
func (c *Client) List(ctx context.Context, since time.Time, each func(*bundle.Bundle), skipped func(error)) error {
	search := "source = '" + c.Source + "'"
	if !since.IsZero() {
		search += " and updated_at > '" + since.UTC().Format(time.RFC3339) + "'"
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i := range len(borders) - 1 {
		group.Go(func() error {
			return c.list(ctx, search, borders[i], borders[i+1], func(b *bundle.Bundle, err error) {
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					skipped(err)
					return
				}
				each(b)
			})
		})
	}
	return group.Wait()
}

// list calls each for the bundles of a search with last < id <= border, page by page. An empty last or border means no
// limit.
func (c *Client) list(ctx context.Context, of, last, border string, each func(*bundle.Bundle, error)) error {
	for {
		search := of
		if last != "" {
			search += " and id > '" + last + "'"
		}
		if border != "" {
			search += " and id <= '" + border + "'"
		}
		query := url.Values{"search": {search}, "orderBy": {"id asc"}, "page": {"1"}, "size": {strconv.Itoa(pageSize)}}
		data, err := c.read(ctx, "/resource-bundles?"+query.Encode())
		if err != nil {
			return err
		}
		var page struct{ Items []json.RawMessage }
		if err := json.Unmarshal(data, &page); err != nil {
			return fmt.Errorf("a list of Maestro: %w", err)
		}
		for _, item := range page.Items {
			var known struct{ ID string }
			if err := json.Unmarshal(item, &known); err != nil {
				return fmt.Errorf("a list of Maestro: a bundle after %q: %w", last, err)
			}
			if known.ID <= last {
				return fmt.Errorf("a list of Maestro: bundle %q comes after %q", known.ID, last)
			}
			last = known.ID
			each(bundle.Read(item))
		}
		if len(page.Items) < pageSize {
			return nil
		}
	}
}

// AddCluster adds a cluster to Maestro, because Maestro accepts works only for known clusters. A known cluster is no
// error.
func (c *Client) AddCluster(ctx context.Context, name string) error {
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/consumers", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if _, err := c.answer(request, http.StatusCreated, http.StatusConflict); err != nil {
		// Maestro answers a request to add a known cluster with the same error as for any failure.
		if known, unknown := c.knows(ctx, name); unknown != nil || !known {
			return fmt.Errorf("adding cluster %s to Maestro: %w", name, err)
		}
	}
	return nil
}

// knows tells whether Maestro has a cluster.
func (c *Client) knows(ctx context.Context, cluster string) (bool, error) {
	query := url.Values{"search": {"name = '" + cluster + "'"}, "size": {"1"}}
	data, err := c.read(ctx, "/consumers?"+query.Encode())
	if err != nil {
		return false, err
	}
	var found struct{ Items []struct{ Name string } }
	err = json.Unmarshal(data, &found)
	return len(found.Items) == 1 && found.Items[0].Name == cluster, err
}

func (c *Client) read(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	return c.answer(request, http.StatusOK)
}

// answer sends a request. answer returns the body of an answer with an expected status, and otherwise an error without
// bundle ids. A status 404 is the error ErrNotFound.
func (c *Client) answer(request *http.Request, expected ...int) ([]byte, error) {
	response, err := c.rest.Do(request)
	if err != nil {
		return nil, withoutIDs(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if slices.Contains(expected, response.StatusCode) {
		return data, err
	}
	if response.StatusCode == http.StatusNotFound {
		return nil, ErrNotFound
	}
	var said struct{ Reason string }
	_ = json.Unmarshal(data, &said) // Without a reason, the error has the status.
	return nil, withoutIDs(fmt.Errorf("%s %s: %s %s", request.Method, request.URL.Path, response.Status, said.Reason))
}
