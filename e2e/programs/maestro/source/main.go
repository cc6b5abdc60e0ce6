// Command source gives a work to Maestro as a controller would: one CloudEvent over gRPC. The command sends its input
// unchanged, without a type of Open Cluster Management. The types in Maestro's own client are older than the agents,
// and lose unknown fields such as "feedbackScrapeType".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pb "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// A request is the content of the command line.
type request struct {
	server, source, action, cluster, id, name string
	version                                   int
}

func main() {
	var r request
	flag.StringVar(&r.server, "server", "", "address of Maestro's gRPC server")
	flag.StringVar(&r.source, "source", "towline", "source of the work")
	flag.StringVar(&r.action, "action", "create", "create, update or delete")
	flag.StringVar(&r.cluster, "cluster", "", "cluster that the work is for")
	flag.StringVar(&r.id, "id", "", "id of the work, a UUID")
	flag.StringVar(&r.name, "name", "", "name of the work")
	flag.IntVar(&r.version, "version", 0, "version of the work that an update is of")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := publish(ctx, r, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "source:", err)
		os.Exit(1)
	}
}

// publish reads a bundle of manifests, and sends the bundle to Maestro.
func publish(ctx context.Context, r request, bundle io.Reader) error {
	data, err := io.ReadAll(bundle)
	if err != nil {
		return err
	}
	if !json.Valid(data) {
		return errors.New("standard input is not the JSON of a bundle of manifests")
	}
	event, err := r.event(data)
	if err != nil {
		return err
	}
	message := &pb.CloudEvent{}
	if err := protocol.WritePBMessage(ctx, binding.ToMessage(event), message); err != nil {
		return err
	}
	conn, err := grpc.NewClient(r.server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = pb.NewCloudEventServiceClient(conn).Publish(ctx, &pb.PublishRequest{Event: message})
	return err
}

// event returns the CloudEvent of the request.
func (r request) event(data []byte) (*cloudevents.Event, error) {
	action := types.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: types.SubResourceSpec,
		Action: types.EventAction(r.action + "_request"),
	}
	meta, err := json.Marshal(map[string]string{"name": r.name, "namespace": r.cluster, "uid": r.id})
	if err != nil {
		return nil, err
	}
	event := cloudevents.NewEvent()
	event.SetID(uuid.NewString())
	event.SetSource(r.source)
	event.SetType(action.String())
	event.SetTime(time.Now())
	event.SetExtension(types.ExtensionClusterName, r.cluster)
	event.SetExtension(types.ExtensionResourceID, r.id)
	event.SetExtension(types.ExtensionResourceVersion, r.version)
	event.SetExtension(types.ExtensionWorkMeta, string(meta))
	if r.action == "delete" {
		event.SetExtension(types.ExtensionDeletionTimestamp, time.Now())
		data = []byte(`{"manifests":[]}`)
	}
	return &event, event.SetData(cloudevents.ApplicationJSON, json.RawMessage(data))
}
