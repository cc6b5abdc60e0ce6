package fleet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// A GitSSH serves the repositories of a fleet over SSH, read-only, to the owner of one private key.
type GitSSH struct {
	// KnownHost is the line of the server in a file of known hosts. PrivateKey is the client's key, as PEM.
	KnownHost, PrivateKey string

	listener net.Listener
	config   *ssh.ServerConfig
	served   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool // the open connections; nil after Close
}

// ServeSSH starts a server with a new host key and a new client key, on a free port of 127.0.0.1.
func (g *Git) ServeSSH() (*GitSSH, error) {
	_, host, err := newSSHKey()
	if err != nil {
		return nil, err
	}
	private, client, err := newSSHKey()
	if err != nil {
		return nil, err
	}
	s := &GitSSH{PrivateKey: private, conns: map[net.Conn]bool{}, config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), client.PublicKey().Marshal()) {
				return nil, errors.New("another key")
			}
			return nil, nil //nolint:nilnil // the server needs no permissions
		},
	}}
	s.config.AddHostKey(host)
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.KnownHost = knownhosts.Line([]string{s.listener.Addr().String()}, host.PublicKey())
	s.served.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.served.Go(func() { s.serve(conn, g) })
		}
	})
	return s, nil
}

// URL returns the address of a repository.
func (s *GitSSH) URL(repo string) string {
	return "ssh://git@" + s.listener.Addr().String() + "/" + repo + ".git"
}

// Close stops the server, and closes all connections.
func (s *GitSSH) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.served.Wait()
	return err
}

// opened records an open connection. It returns false after Close.
func (s *GitSSH) opened(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns != nil {
		s.conns[conn] = true
	}
	return s.conns != nil
}

func (s *GitSSH) closed(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

// newSSHKey returns a new private key, as PEM and as a signer.
func newSSHKey() (text string, signer ssh.Signer, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", nil, err
	}
	signer, err = ssh.NewSignerFromKey(key)
	return string(pem.EncodeToMemory(block)), signer, err
}

func (s *GitSSH) serve(conn net.Conn, g *Git) {
	defer s.closed(conn)
	if !s.opened(conn) {
		return
	}
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return // for example, the client refuses the host key
	}
	go ssh.DiscardRequests(requests)
	for open := range channels {
		if open.ChannelType() != "session" {
			_ = open.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		channel, requests, err := open.Accept()
		if err != nil {
			return
		}
		uploadPack(channel, requests, g)
	}
}

// uploadPack answers the request of a session to run git-upload-pack for a repository. It refuses other programs.
func uploadPack(channel ssh.Channel, requests <-chan *ssh.Request, g *Git) {
	defer channel.Close()
	var environment []string
	for r := range requests {
		switch r.Type {
		case "env":
			var variable struct{ Name, Value string }
			if ssh.Unmarshal(r.Payload, &variable) == nil && variable.Name == "GIT_PROTOCOL" {
				environment = append(environment, variable.Name+"="+variable.Value)
			}
			_ = r.Reply(true, nil)
		case "exec":
			var command struct{ Line string }
			err := ssh.Unmarshal(r.Payload, &command)
			repo, fetches := strings.CutPrefix(command.Line, "git-upload-pack ")
			_ = r.Reply(err == nil && fetches, nil)
			if err != nil || !fetches {
				return
			}
			name := strings.TrimSuffix(path.Base(strings.Trim(repo, "'")), ".git")
			code := run(channel, append(environment, gitEnvironment()...), "git", "upload-pack", g.bare(name))
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

// run runs a program with the channel as its input and output, and returns the exit code.
func run(channel ssh.Channel, environment []string, program string, args ...string) uint32 {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	// The input ends only with the session, so the end of the program must not wait for the end of the input.
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(in, channel)
		in.Close()
	}()
	if cmd.Wait() != nil {
		return 1
	}
	return 0
}
