// Package fleet runs a real Open Cluster Management hub and real managed clusters with Argo CD as local
// processes on 127.0.0.1, from programs that it builds out of Go modules. It needs Go and git; no
// container engine, no network once the modules are there, no root.
//
// The hub runs etcd, kube-apiserver, kube-controller-manager, OCM's placement and registration
// controllers and add-on manager, and Argo CD's ApplicationSet controller (progressive syncs on), API server and repo
// server.
// A managed cluster runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK with one Node,
// OCM's registration and work agents, and Argo CD's application controller and repo server. Redis and the
// Git server live in the process that started the fleet.
//
// # Use
//
//	f, err := fleet.Start(ctx, fleet.Options{Clusters: fleet.ClusterNames(2), Progress: os.Stderr})
//	defer f.Stop()
//
// or, to use one that `fleet up` keeps running,
//
//	f, err := fleet.Connect(ctx, "") // the default state directory
//	defer f.Stop()                   // ends what Run started; the fleet stays up
//
// Options.ArgoCD says which versions of Argo CD there are, and ArgoCDVersion which a plane has. From 3.5 on its
// components and its repo server know each other by certificates.
//
// Both give the same:
//
//	f.Hub.RESTConfig(), f.Hub.Kubeconfig()                  the hub's admin
//	f.Cluster("cluster1").RESTConfig(), .Kubeconfig()       a cluster's admin
//	f.Cluster("cluster1").AgentKubeconfig()                 the agents' own identity on the hub
//	f.Hub.ServiceAccountKubeconfig(ctx, namespace, name)    a ServiceAccount's rights and no others
//	f.Hub.UserKubeconfig(user, groups...)                   any user, by client certificate
//	f.Hub.Kubectl(ctx, "apply", "-f", file)                 kubectl as the admin
//	f.Hub.StartArgoCD(ctx, namespaces...), .StopArgoCD(ctx) Argo CD deploys to the hub too
//	f.Cluster("cluster1").StartCommitServer(ctx), .StopCommitServer(ctx) Argo CD's source hydrator can commit
//	f.Cluster("cluster1").StopAgent(ctx), .StartAgent(ctx)  cut a cluster off, and back
//	….StopAPIServer(ctx), .StartAPIServer(ctx)              on the hub as well
//	….StopProcess(ctx, "etcd"), .StartProcess(ctx, …)       any process, or the group argocd
//	f.Cluster("cluster1").Rebuild(ctx), .Import(ctx)        empty under the same name; a ManagedCluster anew
//	f.Join(ctx, "another"), f.Leave(ctx, "another")         one more cluster, which registers itself
//	f.Provision(ctx, "another"), f.OperateKlusterlet(ctx, "another") one more cluster, which OCM's importer joins
//	f.JoinHub(ctx, "region1", other.Hub)                    the hub of another fleet as a managed cluster of this one
//	f.Git.URL(fleet.AppsRepo), .Commit, .Remove, .Read, .Head, .Tag, .Branch, .Create
//	f.Hub.ArgoCDURL(), .ArgoCDPassword(ctx)                 argocd-server, user admin; .RedisAddress() its cache
//	f.Logs(), f.Hub.Log("kube-apiserver"), f.Hub.AuditLog()
//	f.Run(ctx, fleet.Command{…})                            one more process: Towline itself
//
// Towline runs on the hub as its Deployment would, with the rights of its own ServiceAccount:
//
//	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, namespace, serviceAccount) // after applying deploy/
//	ports, err := f.FreePorts(2)
//	run, err := f.Run(ctx, fleet.Command{
//		Name: "towline", Path: binary, Args: []string{"controller", …},
//		Env:   []string{"KUBECONFIG=" + kubeconfig},
//		Ready: fleet.HTTPReady(fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])),
//	})
//
// A hub without anything but its API server, for envtest-like and scale tests, is
// Options.HubControlPlaneOnly; Builder.Assets gives etcd, kube-apiserver, kubectl and the CRDs alone.
//
// # Maestro
//
// With Options.Transport the hub runs Maestro too, and the work agents fetch their works there, over MQTT: the works are
// in PostgreSQL then, and none in the hub's API. Hub.MaestroURL and Hub.MaestroGRPC say where it is. PostgreSQL and
// mosquitto are Debian's packages, and PgBouncer, which Options.PgBouncer puts in between; Maestro is built for such a fleet only.
//
// # Identities
//
// Each control plane has an authority of its own. Argo CD's components have the rights of Argo CD's own
// manifests, the agents those of OCM's klusterlet. On a cluster that leaves out the right to write
// Applications: it is granted to ServiceAccount klusterlet-work-sa in open-cluster-management-agent, or by a
// ClusterRole labelled open-cluster-management.io/aggregate-to-work=true. On the hub, an agent is user
// system:open-cluster-management:<cluster>:agent with what the registration controller grants it.
//
// # What it never does
//
// It never uses the user's kubeconfig, Git settings or proxies, never listens on other addresses on purpose
// (Argo CD's application controller offers no choice for its metrics), and never ends a process that it did
// not start: processes are known by number and start time.
package fleet
