// Package fleet runs a real Open Cluster Management hub and real managed clusters with Argo CD as local processes on
// 127.0.0.1. It builds the programs from Go modules. It needs Go and git. It needs no container engine, no root, and no
// network after the modules are downloaded.
//
// The hub runs etcd, kube-apiserver, kube-controller-manager, and OCM's placement controller, registration controller and
// add-on manager. The hub's Argo CD has the ApplicationSet controller (progressive syncs on), API server and repo server.
// A managed cluster runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK with a Node, OCM's
// registration and work agents, and Argo CD's application controller and repo server. Redis and the Git server run in the
// process that started the fleet.
//
// # Use
//
//	f, err := fleet.Start(ctx, fleet.Options{Clusters: fleet.ClusterNames(2), Progress: os.Stderr})
//	defer f.Stop()
//
// or, to use the running fleet of `fleet up`,
//
//	f, err := fleet.Connect(ctx, "") // the default state directory
//	defer f.Stop()                   // ends the programs of Run; the fleet stays up
//
// Options.ArgoCD has the versions of Argo CD in the fleet, and ArgoCDVersion returns the version of a plane. From 3.5
// on, Argo CD's components and its repo server authenticate by certificates.
//
// Start and Connect return a Fleet with the same methods:
//
//	f.Hub.RESTConfig(), f.Hub.Kubeconfig()                  the hub's admin
//	f.Cluster("cluster1").RESTConfig(), .Kubeconfig()       a cluster's admin
//	f.Cluster("cluster1").AgentKubeconfig()                 the agents' own identity on the hub
//	f.Hub.ServiceAccountKubeconfig(ctx, namespace, name)    only the rights of a ServiceAccount
//	f.Hub.UserKubeconfig(user, groups...)                   any user, by client certificate
//	f.Hub.Kubectl(ctx, "apply", "-f", file)                 kubectl as the admin
//	f.Hub.StartArgoCD(ctx, namespaces...), .StopArgoCD(ctx) Argo CD deploys to the hub too
//	f.Cluster("cluster1").StartCommitServer(ctx), .StopCommitServer(ctx) Argo CD's source hydrator can commit
//	f.Cluster("cluster1").StopAgent(ctx), .StartAgent(ctx)  cut a cluster off, and back
//	….StopAPIServer(ctx), .StartAPIServer(ctx)              on the hub as well
//	….StopProcess(ctx, "etcd"), .StartProcess(ctx, …)       any process, or the group argocd
//	f.Cluster("cluster1").Rebuild(ctx), .Import(ctx)        an empty cluster of the same name; the ManagedCluster again
//	f.Join(ctx, "another"), f.Leave(ctx, "another")         a new cluster that registers with the hub
//	f.Provision(ctx, "another"), f.OperateKlusterlet(ctx, "another") a new cluster that OCM's importer joins
//	f.JoinHub(ctx, "region1", other.Hub)                    the hub of another fleet as a managed cluster
//	f.Git.URL(fleet.AppsRepo), .Commit, .Remove, .Read, .Head, .Tag, .Branch, .Create
//	f.Hub.ArgoCDURL(), .ArgoCDPassword(ctx)                 argocd-server, user admin; .RedisAddress() its cache
//	f.Logs(), f.Hub.Log("kube-apiserver"), f.Hub.AuditLog()
//	f.Run(ctx, fleet.Command{…})                            an additional process, for example Towline
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
// Options.HubControlPlaneOnly starts a hub with only an API server, for envtest-like and scale tests. Builder.Assets
// builds only etcd, kube-apiserver, kubectl and the CRDs.
//
// # Maestro
//
// With TransportMaestro in Options.Transport, the hub also runs Maestro, and the work agents fetch their works from
// Maestro, over MQTT. The works are then in PostgreSQL, and not in the hub's API. Hub.MaestroURL and Hub.MaestroGRPC
// return Maestro's addresses. Options.PgBouncer adds PgBouncer between Maestro and PostgreSQL. PostgreSQL, mosquitto and
// PgBouncer are Debian packages. Maestro is built only for a fleet with Maestro.
//
// # Identities
//
// Each control plane has a separate authority. Argo CD's components have the rights of Argo CD's own manifests. The
// agents have the rights of OCM's klusterlet. On a cluster, these rights do not include the right to write Applications.
// Grant this right to ServiceAccount klusterlet-work-sa in open-cluster-management-agent, or by a ClusterRole labelled
// open-cluster-management.io/aggregate-to-work=true. On the hub, an agent is user
// system:open-cluster-management:<cluster>:agent with the rights from the registration controller.
//
// # What the package never does
//
// The package never uses the user's kubeconfig, Git settings or proxies. It listens only on 127.0.0.1, except for the
// metrics of Argo CD's application controller: the controller offers no choice. The package never ends foreign processes:
// a process of the fleet is identified by pid and start time.
package fleet
