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
	// pageSize is how many bundles are read in one request.
	pageSize = 500

	// requestTimeout ends a request to Maestro that hangs.
	requestTimeout = 30 * time.Second

	// maxMessage is the size of the largest message, in bytes: Maestro's own bound is 4 MiB.
	maxMessage = 8 << 20

	// MaxBackoff is about how long to wait at most before the gRPC server is tried again.
	MaxBackoff = 10 * time.Second

	// apiPath is the root of Maestro's REST API.
	apiPath = "/api/maestro/v1"
)

// ErrNotFound says that Maestro has no bundle of that id.
var ErrNotFound = errors.New("not found in Maestro")

// Options say where Maestro is, and who speaks to it.
type Options struct {
	// URL is the root of Maestro's REST server: https://maestro.example.com:8000.
	URL string

	// GRPC is the host and port of Maestro's gRPC server.
	GRPC string

	// Source is the name under which works are written. Maestro tells a source of its own works only.
	Source string

	// CAFile has the certificates of the authorities that sign Maestro's certificates; empty stands for those of the system.
	CAFile string

	// CertFile and KeyFile are the client's certificate and its key. These and CAFile are read for each connection.
	CertFile, KeyFile string

	// TokenFile has a bearer token. It is read again once it was read 50 seconds ago.
	TokenFile string

	// Plaintext speaks without TLS: on one machine, in tests.
	Plaintext bool
}

// Validate says what is missing in the options, each with its flag.
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

// Client speaks to one Maestro as one source.
type Client struct {
	// Source is the name under which works are written.
	Source string

	url    string
	rest   *http.Client
	conn   *grpc.ClientConn
	events pb.CloudEventServiceClient
}

// New makes a client. It connects when it is used first.
func New(o Options) (*Client, error) {
	who := identity{o.CAFile, o.CertFile, o.KeyFile}
	if _, err := who.config(); err != nil {
		return nil, err // now, rather than at each connection
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
		grpc.WithNoProxy(), // as the REST client
		// By default it tries again after up to two minutes: the REST server would be read long before.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: MaxBackoff},
			MinConnectTimeout: 20 * time.Second, // as by default
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

// Close ends the connections.
func (c *Client) Close() error { return c.conn.Close() }

// Publish asks for a change of a work. The error does not say whether it was carried out.
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

// Unreachable tells whether Publish or Subscribe failed because Maestro did not answer.
func Unreachable(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}

// IsAnswer tells whether Publish failed because of the work: Maestro has no such version of it, or does not take what it says. It answers
// everything with the same code; what is about a work has these words.
func IsAnswer(err error) bool {
	words := status.Convert(err).Message()
	return slices.ContainsFunc([]string{"create", "get", "update", "delete"}, func(done string) bool {
		return strings.HasPrefix(words, "failed to "+done+" resource")
	})
}

// Subscribe gives every event that Maestro has for the source to handle, until the connection ends. What Maestro has had to tell
// while nobody was subscribed it does not tell again.
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
			// It has no data, and so is no event to the library.
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

// Get reads a bundle; ErrNotFound if there is none.
func (c *Client) Get(ctx context.Context, id string) (*bundle.Bundle, error) {
	data, err := c.read(ctx, "/resource-bundles/"+url.PathEscape(id))
	if err != nil {
		return nil, err
	}
	return bundle.Read(data)
}

// borders divide ids, which are UUIDs, into parts of which each is listed page by page, at the same time as the others: Maestro needs
// more than a millisecond for each bundle.
var borders = []string{"", "4", "8", "c", ""}

// List gives all bundles of the source to each, one at a time, or those that have changed since a time by Maestro's clock. They are not
// of one moment: a bundle that changes meanwhile is given as it was or as it is, and one that is made or removed meanwhile may be missing.
// skipped is told of what is no work.
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

// list gives the bundles of a search whose ids are above one border and not above the other, page by page.
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
			if err := json.Unmarshal(item, &known); err != nil || known.ID <= last {
				return fmt.Errorf("a list of Maestro: bundle %q comes after %q: %w", known.ID, last, err)
			}
			last = known.ID
			each(bundle.Read(item))
		}
		if len(page.Items) < pageSize {
			return nil
		}
	}
}

// AddCluster tells Maestro of a cluster, once or again: it takes works for known clusters only.
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
		// It says of a cluster that it knows what it says of any failure.
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

// answer makes a request, and reads its answer if its status is one of those expected.
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
	_ = json.Unmarshal(data, &said) // without a reason, the status says enough
	return nil, withoutIDs(fmt.Errorf("%s %s: %s %s", request.Method, request.URL.Path, response.Status, said.Reason))
}
