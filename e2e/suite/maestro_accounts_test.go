package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/e2e/fleet"
)

// A maestroRow has the fields of a work in Maestro's REST API that an attacker needs.
type maestroRow struct {
	ID       string `json:"id"`
	Metadata struct {
		UID string `json:"uid"`
	} `json:"metadata"`
}

// The attacker has the broker account of a hostile cluster, cluster1. The victim is a work of cluster2.
var _ = Describe("An attack through the broker", Serial, inMaestro, func() {
	const hostile, victim = "cluster1", "cluster2"

	// says publishes an event on a topic with the hostile cluster's account, in the name of a different cluster.
	says := func(ctx context.Context, topic, of, kind string, extensions map[string]any, data any) byte {
		GinkgoHelper()
		broker, err := f.Hub.BrokerAccounts(ctx)
		Expect(err).NotTo(HaveOccurred())
		event := map[string]any{
			"specversion": "1.0", "id": uuid.NewString(), "source": hostile + "-agent", "time": time.Now().UTC().Format(time.RFC3339),
			"type":        "io.open-cluster-management.works.v1alpha1.manifestbundles." + kind,
			"clustername": of, "originalsource": fleet.MaestroSource, "datacontenttype": "application/json", "data": data,
		}
		maps.Copy(event, extensions)
		payload, err := json.Marshal(event)
		Expect(err).NotTo(HaveOccurred())
		code, err := fleet.PublishMQTT(ctx, broker, hostile, fleet.BrokerPassword(hostile), topic, "application/cloudevents+json", payload)
		Expect(err).NotTo(HaveOccurred())
		return code
	}
	topic := func(cluster, events string) string {
		return "sources/" + fleet.MaestroSource + "/consumers/" + cluster + "/" + events
	}
	// removes publishes the event that the agent of a different cluster has removed a work.
	removes := func(ctx context.Context, on, of, id string) byte {
		GinkgoHelper()
		return says(ctx, on, of, "status.update_request", map[string]any{"resourceid": id, "resourceversion": 1, "sequenceid": "1990000000000000000"},
			map[string]any{"conditions": []any{map[string]any{
				"type": "Deleted", "status": "True", "reason": "ManifestsDeleted", "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}}})
	}
	// asks publishes a resync request in the name of the victim's cluster. Maestro then sends missing works to the
	// cluster, and deletes works there that are unknown to Maestro.
	asks := func(ctx context.Context, on, id string) byte {
		GinkgoHelper()
		return says(ctx, on, victim, "spec.resync_request", nil, map[string]any{
			"resourceVersions": []any{map[string]any{"resourceID": id, "resourceVersion": 1}},
		})
	}
	// rows returns the works of a cluster from Maestro's REST server. No cluster may reach the REST server.
	rows := func(ctx context.Context, of string) []maestroRow {
		GinkgoHelper()
		query := url.Values{"search": {"consumer_name = '" + of + "'"}, "size": {"500"}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.Hub.MaestroURL()+"/resource-bundles?"+query.Encode(), nil)
		Expect(err).NotTo(HaveOccurred())
		response, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		var list struct{ Items []maestroRow }
		Expect(json.Unmarshal(data, &list)).To(Succeed(), string(data))
		return list.Items
	}
	idsOf := func(ctx context.Context, w *workv1.ManifestWork) (ids []string) {
		GinkgoHelper()
		for _, r := range rows(ctx, victim) {
			if r.Metadata.UID == string(w.UID) {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}

	It("deletes a row with a public id, and no row of a work of Towline", func(ctx SpecContext) {
		const name = "maestro-account"
		standalone(ctx, name, victim)
		app := expectAtRest(ctx, name)
		before := uids(ctx, victim, name)
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())

		By("the attack on a row with an id by a public rule, as Towline's rows had it, of a cluster without an agent")
		const away = "maestro-away"
		public := func(of, work string) string {
			return uuid.NewSHA1(uuid.MustParse("5f2c1c0e-64c0-4a53-9f1c-6f1f3f0f5a61"), []byte("towline/"+of+"/"+work)).String()
		}
		addConsumer(ctx, away)
		source := exec.CommandContext(ctx, f.Program("maestro-source"), "--server="+f.Hub.MaestroGRPC(), "--source=another", "--cluster="+away,
			"--id="+public(away, "work"), "--name=work")
		source.Stdin = strings.NewReader(`{"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "any"}}]}`)
		out, err := source.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		of := func(ctx context.Context) []maestroRow { return rows(ctx, away) }
		Eventually(ctx, of).Should(HaveLen(1))
		Expect(removes(ctx, topic(away, "agentevents"), away, public(away, "work"))).To(
			BeEquivalentTo(fleet.MQTTNotAuthorized), "the broker binds topics to accounts")
		Expect(removes(ctx, topic(hostile, "agentevents"), away, public(away, "work"))).To(
			BeEquivalentTo(fleet.MQTTSuccess), "the broker does not read events")
		Eventually(ctx, of).Should(BeEmpty(), "Maestro believes the event")

		By("the same attack on the work of Towline")
		Expect(removes(ctx, topic(hostile, "agentevents"), victim, public(victim, w.Name))).To(BeEquivalentTo(fleet.MQTTSuccess))
		Expect(asks(ctx, topic(hostile, "agentevents"), public(victim, w.Name))).To(BeEquivalentTo(fleet.MQTTSuccess))
		patchHub(ctx, name, annotationPatch("note", "after the attack"))
		Eventually(ctx, read(cluster[victim], named(name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "after the attack")))
		expectAtRest(ctx, name)
		Expect(uids(ctx, victim, name)).To(Equal(before))
		Expect(maestro.LogTail(1000)).NotTo(MatchRegexp("Maestro has lost a work.*" + w.Name))
	}, NodeTimeout(3*soon))

	It("removes nothing on a cluster, and ends, if the attacker has learned the id of a work", func(ctx SpecContext) {
		const name = "maestro-known"
		standalone(ctx, name, victim)
		app := expectAtRest(ctx, name)
		before := uids(ctx, victim, name)
		w, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		ids := idsOf(ctx, w)
		Expect(ids).To(HaveLen(1))
		Expect(removes(ctx, topic(hostile, "agentevents"), victim, ids[0])).To(BeEquivalentTo(fleet.MQTTSuccess))
		Expect(asks(ctx, topic(hostile, "agentevents"), ids[0])).To(BeEquivalentTo(fleet.MQTTSuccess))
		began := time.Now()
		Eventually(ctx, func() string { return maestro.LogTail(1000) }).Should(MatchRegexp("Maestro has lost a work.*" + w.Name))
		Eventually(ctx, func(ctx context.Context) []string { return idsOf(ctx, w) }).Should(And(HaveLen(1), Not(ContainElement(ids[0]))))
		AddReportEntry(fmt.Sprintf("the work had another id %.1f s after the attack", time.Since(began).Seconds()))
		patchHub(ctx, name, annotationPatch("note", "after the attack"))
		Eventually(ctx, read(cluster[victim], named(name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "after the attack")))
		expectAtRest(ctx, name)
		Expect(uids(ctx, victim, name)).To(Equal(before))
		after, err := read(hub, workOf(app))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.UID).To(Equal(w.UID))
	}, NodeTimeout(3*soon))

	It("reaches no agent: the hostile account may not send works to the other cluster", func(ctx SpecContext) {
		Expect(says(ctx, topic(victim, "sourceevents"), victim, "spec.create_request", map[string]any{"resourceid": uuid.NewString(), "resourceversion": 1},
			map[string]any{"manifests": []any{}})).To(BeEquivalentTo(fleet.MQTTNotAuthorized))
	}, NodeTimeout(soon))
})

// addConsumer registers a cluster at Maestro.
func addConsumer(ctx context.Context, name string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Hub.MaestroURL()+"/consumers", strings.NewReader(`{"name": "`+name+`"}`))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusCreated))
}
