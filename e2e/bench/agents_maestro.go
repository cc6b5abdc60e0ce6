package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/mqtt"
	mqttv2 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/v2/mqtt"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/e2e/fleet"
)

// brokerAgents fetch works from Maestro, over Maestro's broker. Each agent is a client of Open Cluster Management's
// library with a separate connection, as on a cluster.
type brokerAgents struct {
	names    []string // of the clusters
	parallel int
	options  mqtt.MQTTOptions

	mu      sync.Mutex
	clients map[string]agentClient
}

type agentClient = generic.CloudEventsClient[*workv1.ManifestWork]

func newBrokerAgents(broker string, names []string, parallel int) *brokerAgents {
	topics := "sources/" + fleet.MaestroSource + "/consumers/+"
	return &brokerAgents{
		names: names, parallel: parallel, clients: map[string]agentClient{},
		options: mqtt.MQTTOptions{
			KeepAlive: 60, PubQoS: 1, SubQoS: 1,
			Topics: types.Topics{SourceEvents: topics + "/sourceevents", AgentEvents: topics + "/agentevents"},
			Dialer: &mqtt.MQTTDialer{BrokerHost: broker, Timeout: time.Minute},
		},
	}
}

func (a *brokerAgents) follow(ctx context.Context, _ chan<- error, saw func(*manifestWork)) error {
	ctx = klog.NewContext(ctx, logr.New(errorsOnly{klog.Background().GetSink()}))
	return each(ctx, len(a.names), a.parallel, func(each context.Context, i int) error {
		client, err := a.connect(ctx, a.names[i])
		if err != nil {
			return fmt.Errorf("agent of %s: %w", a.names[i], err)
		}
		client.Subscribe(ctx, func(ctx context.Context, w *workv1.ManifestWork) error {
			if w.DeletionTimestamp != nil {
				go a.removed(ctx, client, w)
				return nil
			}
			told := w.ObjectMeta
			saw(&manifestWork{
				meta: meta{Name: w.Name, Namespace: w.Namespace, Generation: w.Generation, Annotations: w.Annotations},
				Spec: &w.Spec, told: &told,
			})
			return nil
		})
		select {
		case <-client.SubscribedChan():
			return nil
		case <-each.Done():
			return each.Err()
		}
	})
}

// connect makes the client of a cluster. The client needs no lister of works, because the list is never read.
func (a *brokerAgents) connect(ctx context.Context, cluster string) (agentClient, error) {
	options := a.options
	dialer := *a.options.Dialer
	options.Dialer = &dialer
	client, err := clients.NewCloudEventAgentClient(ctx, mqttv2.NewAgentOptions(&options, cluster, cluster+"-work-agent"),
		nil, statushash.StatusHash, codec.NewManifestBundleCodec())
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[cluster] = client
	return client, nil
}

// take writes nothing, because such an agent's finalizer stays on the cluster.
func (*brokerAgents) take(context.Context, *manifestWork) error { return nil }

func (*brokerAgents) writes() float64 { return 0 }

// heard returns false: a report is at the broker, but perhaps not in Maestro yet.
func (*brokerAgents) heard() bool { return false }

func (a *brokerAgents) report(ctx context.Context, w *manifestWork, status object) error {
	said := &workv1.ManifestWork{ObjectMeta: *w.told}
	if err := json.Unmarshal(encoded(status), &said.Status); err != nil {
		return err
	}
	a.mu.Lock()
	client := a.clients[w.Namespace]
	a.mu.Unlock()
	return publish(ctx, client, said)
}

// removed reports that all objects of a work are gone. It ignores errors, because the wait for the work's end would
// fail after a lost report.
func (a *brokerAgents) removed(ctx context.Context, client agentClient, w *workv1.ManifestWork) {
	w.Status.Conditions = []metav1.Condition{{Type: common.ResourceDeleted, Status: metav1.ConditionTrue, Reason: "ManifestsDeleted"}}
	_ = publish(ctx, client, w)
}

func publish(ctx context.Context, client agentClient, w *workv1.ManifestWork) error {
	return client.Publish(ctx, types.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: types.SubResourceStatus, Action: types.UpdateRequestAction,
	}, w)
}

// errorsOnly logs only errors, because a client logs each connection.
type errorsOnly struct{ logr.LogSink }

// Enabled implements logr.LogSink.
func (errorsOnly) Enabled(int) bool { return false }

// WithValues implements logr.LogSink.
func (s errorsOnly) WithValues(values ...any) logr.LogSink {
	return errorsOnly{s.LogSink.WithValues(values...)}
}

// WithName implements logr.LogSink.
func (s errorsOnly) WithName(name string) logr.LogSink { return errorsOnly{s.LogSink.WithName(name)} }
