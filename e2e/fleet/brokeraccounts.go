package fleet

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
)

// brokerAccounts is the name of the broker's listener with a separate account for every cluster.
const brokerAccounts = "mosquitto-accounts"

// brokerRules are the rules of docs/maestro.md: an account reads and writes the topics of its own cluster. %u is the
// account's name.
const brokerRules = "pattern read sources/" + MaestroSource + "/consumers/%u/sourceevents\n" +
	"pattern write sources/" + MaestroSource + "/consumers/%u/agentevents\n"

// BrokerPassword returns the password of a cluster's account.
func BrokerPassword(cluster string) string { return "of " + cluster }

// accountsListener returns the part of mosquitto's configuration for clusters with accounts. The fleet's own agents use
// the listener without accounts.
func (p *plane) accountsListener(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	var accounts strings.Builder
	for _, cluster := range p.opts.Clusters {
		line, err := brokerAccount(cluster, BrokerPassword(cluster))
		if err != nil {
			return "", err
		}
		accounts.WriteString(line)
	}
	passwords, err := p.configFile("mosquitto", "passwords", accounts.String())
	if err != nil {
		return "", err
	}
	rules, err := p.configFile("mosquitto", "rules", brokerRules)
	return fmt.Sprintf("listener %s %s\nallow_anonymous false\nuse_username_as_clientid true\npassword_file %s\nacl_file %s\n",
		port, host, passwords, rules), err
}

// brokerAccount returns a line of mosquitto's password file, in the form of mosquitto_passwd.
func brokerAccount(name, password string) (string, error) {
	const iterations = 101
	salt := make([]byte, 12)
	_, _ = rand.Read(salt) // never fails
	hash, err := pbkdf2.Key(sha512.New, password, salt, iterations, sha512.Size)
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s:$7$%d$%s$%s\n", name, iterations, encode(salt), encode(hash)), err
}

// BrokerAccounts returns the address at which clusters reach the broker with their accounts.
func (h *Hub) BrokerAccounts(ctx context.Context) (string, error) {
	status, err := h.fleet.Status(ctx)
	return status.BrokerAccounts, err
}
