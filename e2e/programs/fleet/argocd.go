package main

import (
	"errors"
	"os"
	"os/exec"

	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	appset "github.com/argoproj/argo-cd/v3/cmd/argocd-applicationset-controller/commands"
	commit "github.com/argoproj/argo-cd/v3/cmd/argocd-commit-server/commands"
	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	notification "github.com/argoproj/argo-cd/v3/cmd/argocd-notification/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	server "github.com/argoproj/argo-cd/v3/cmd/argocd-server/commands"
	cli "github.com/argoproj/argo-cd/v3/cmd/argocd/commands"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/util/grpc"
	"github.com/argoproj/argo-cd/v3/util/log"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func applicationController()    { runArgo(appcontroller.NewCommand, false) }
func applicationSetController() { runArgo(appset.NewCommand, false) }
func commitServer()             { runArgo(commit.NewCommand, false) }
func repoServer()               { runArgo(reposerver.NewCommand, false) }
func argoServer()               { runArgo(server.NewCommand, false) }

// argocd runs Argo CD's CLI. An environment variable chooses a different part. Git calls the CLI with the variable to
// ask for credentials.
func argocd() {
	switch os.Getenv("ARGOCD_BINARY_NAME") {
	case common.CommandGitAskPass:
		runArgo(gitaskpass.NewCommand, true)
	case common.CommandNotifications:
		runArgo(notification.NewCommand, false)
	default:
		runArgo(cli.NewCommand, true)
	}
}

func runArgo(newCommand func() *cobra.Command, isCLI bool) {
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	grpc.DisableSRVLookups()
	command := newCommand()
	command.SilenceErrors, command.SilenceUsage = isCLI, isCLI
	err := command.Execute()
	if err == nil {
		return
	}
	message, err := cli.NewDefaultPluginHandler().HandleCommandExecutionError(err, isCLI, os.Args)
	if err == nil {
		return
	}
	_, _ = os.Stdout.WriteString(message)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	os.Exit(1)
}
