package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/towline-io/towline/pkg/reading"
)

// formats are the values of --output without a template, and templateFormats names the values with a template.
var formats = []string{"table", "wide", "json", "yaml", "name"}

const templateFormats = "jsonpath=TEMPLATE, go-template=TEMPLATE"

// options are the flags of all commands.
type options struct {
	genericiooptions.IOStreams

	config  *genericclioptions.ConfigFlags
	output  string
	noColor bool
	towline reading.Flags
	qps     float32 // requests per second; 0 means the default, negative means no client limit

	// answers has the lines typed by the user. A single reader reads all lines, so no line is lost in a second
	// buffer.
	answers *bufio.Reader
}

func newOptions(streams genericiooptions.IOStreams) *options {
	streams.ErrOut = &together{to: streams.ErrOut}
	return &options{IOStreams: streams, config: genericclioptions.NewConfigFlags(true), output: formats[0]}
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	o.config.AddFlags(fs)
	fs.StringVarP(&o.output, "output", "o", o.output, "output format: "+strings.Join(formats, ", ")+", "+templateFormats)
	fs.BoolVar(&o.noColor, "no-color", o.noColor, "print without colours, even on a terminal")
	fs.StringVar(&o.towline.ArgoCDNamespace, "argocd-namespace", "",
		"namespace of the hub's Argo CD; default: --argocd-namespace of Towline's Deployment")
}

func (o *options) validate() error {
	if execute, err := o.userTemplate(); execute != nil || err != nil {
		return err
	}
	if !slices.Contains(formats, o.output) {
		return fmt.Errorf("--output: %q is not one of %s, %s", o.output, strings.Join(formats, ", "), templateFormats)
	}
	return nil
}

// namespace returns the namespace of the flags, or of the kubeconfig's context.
func (o *options) namespace() (string, error) {
	ns, _, err := o.config.ToRawKubeConfigLoader().Namespace()
	return ns, err
}
