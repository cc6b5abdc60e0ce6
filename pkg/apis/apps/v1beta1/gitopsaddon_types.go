package v1beta1

// The types in this file describe an add-on outside Towline. With the types, the
// API server accepts a GitOpsCluster for the add-on and keeps all fields
// unchanged.

// GitOpsAddonSpec configures the add-on for Argo CD on the managed clusters.
// The add-on is not part of Towline.
type GitOpsAddonSpec struct {
	// enabled turns the add-on on.
	// +optional
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`

	// gitOpsOperatorImage is the image of the add-on's operator.
	// +optional
	GitOpsOperatorImage string `json:"gitOpsOperatorImage,omitempty"`

	// overrideExistingConfigs lets values of the GitOpsCluster replace the
	// existing values of an AddOnDeploymentConfig.
	// +optional
	// +kubebuilder:default=false
	OverrideExistingConfigs *bool `json:"overrideExistingConfigs,omitempty"`

	// olmSubscription asks for an installation by the Operator Lifecycle
	// Manager.
	// +optional
	OLMSubscription *OLMSubscriptionSpec `json:"olmSubscription,omitempty"`

	// argoCDAgent configures the agent of the add-on.
	// +optional
	ArgoCDAgent *ArgoCDAgentSpec `json:"argoCDAgent,omitempty"`
}

// OLMSubscriptionSpec describes a Subscription of the Operator Lifecycle
// Manager.
type OLMSubscriptionSpec struct {
	// enabled makes the add-on install by Subscription on every cluster.
	// +optional
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`

	// name is the name of the Subscription.
	// +optional
	Name string `json:"name,omitempty"`

	// namespace is the namespace of the Subscription.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// channel is the channel of the Subscription.
	// +optional
	Channel string `json:"channel,omitempty"`

	// source is the name of the CatalogSource.
	// +optional
	Source string `json:"source,omitempty"`

	// sourceNamespace is the namespace of the CatalogSource.
	// +optional
	SourceNamespace string `json:"sourceNamespace,omitempty"`

	// installPlanApproval says who approves InstallPlans.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	InstallPlanApproval string `json:"installPlanApproval,omitempty"`
}

// ArgoCDAgentSpec configures the agent of the add-on.
type ArgoCDAgentSpec struct {
	// enabled turns the agent on.
	// +optional
	// +kubebuilder:default=false
	Enabled *bool `json:"enabled,omitempty"`

	// mode is the mode of the agent.
	// +optional
	Mode string `json:"mode,omitempty"`

	// serverAddress is the address of the agent's server.
	// +optional
	ServerAddress string `json:"serverAddress,omitempty"`

	// serverPort is the port of the agent's server.
	// +optional
	ServerPort string `json:"serverPort,omitempty"`

	// propagateHubCA sends the hub's CA certificate to the clusters.
	// +optional
	// +kubebuilder:default=true
	PropagateHubCA *bool `json:"propagateHubCA,omitempty"`
}
