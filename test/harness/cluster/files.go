package cluster

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trueup-go/trueup/test/harness/pki"
)

// The files of a cluster, in its folder, which is the components' working directory.
const (
	kubeconfigFile              = "kubeconfig"
	controllerManagerKubeconfig = "kube-controller-manager.kubeconfig"
	schedulerKubeconfig         = "kube-scheduler.kubeconfig"
	kwokKubeconfig              = "kwok.kubeconfig"
	storageKubeconfig           = "csi-driver.kubeconfig"
	provisionerKubeconfig       = "csi-provisioner.kubeconfig"
	resizerKubeconfig           = "csi-resizer.kubeconfig"
	stagesFile                  = "stages.yaml"
	auditPolicyFile             = "audit-policy.yaml"
	auditLogFile                = "audit.log"
	tokensFile                  = "tokens.csv"
)

// A pairName is the common part of the two file names of a certificate and its key.
type pairName string

const (
	authorityPair pairName = "ca"
	serverPair    pairName = "server"
	accountsPair  pairName = "service-accounts"
)

func (n pairName) certificate() string { return string(n) + ".crt" }
func (n pairName) key() string         { return string(n) + ".key" }

// The users of the components, by the names that RBAC knows where there are any.
const (
	adminUser             = "trueup:admin"
	kwokUser              = "trueup:kwok"
	storageUser           = "trueup:csi-driver"
	provisionerUser       = "trueup:csi-provisioner"
	resizerUser           = "trueup:csi-resizer"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"

	adminGroup = "system:masters"
)

// writeFiles writes all that the components read, and connects the
// administrator.
func (c *Cluster) writeFiles() error {
	authority, err := pki.NewAuthority()
	if err != nil {
		return err
	}
	c.authority = authority
	c.server = fmt.Sprintf("https://127.0.0.1:%d", c.port.Number)
	if err := c.writePairs(); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if err := c.writeStages(); err != nil {
		return err
	}
	return c.write(auditPolicyFile, []byte(c.auditPolicy()))
}

func (c *Cluster) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(c.Dir(), name), content, 0o600); err != nil {
		return fmt.Errorf("cannot write a file of the cluster: %w", err)
	}
	return nil
}

func (c *Cluster) writePairs() error {
	server, err := c.authority.Server(
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1))
	if err != nil {
		return err
	}
	// Only the keys are used, to sign and to verify tokens.
	accounts, err := c.authority.Server(nil)
	if err != nil {
		return err
	}
	for name, pair := range map[pairName]pki.Pair{authorityPair: c.authority.Pair, serverPair: server, accountsPair: accounts} {
		if err := c.write(name.certificate(), pair.Certificate); err != nil {
			return err
		}
		if err := c.write(name.key(), pair.Key); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfigs writes a kubeconfig for each user, and the tokens by which the API server knows them. With client
// certificates, it would take a tenth more processor time, to verify one for each request.
func (c *Cluster) writeKubeconfigs() error {
	var tokens strings.Builder
	for _, client := range []struct{ file, user, group string }{
		{kubeconfigFile, adminUser, adminGroup},
		{controllerManagerKubeconfig, controllerManagerUser, ""},
		{schedulerKubeconfig, schedulerUser, ""},
		{kwokKubeconfig, kwokUser, adminGroup},
		{storageKubeconfig, storageUser, adminGroup},
		{provisionerKubeconfig, provisionerUser, adminGroup},
		{resizerKubeconfig, resizerUser, adminGroup},
	} {
		config := c.anonymousConfig()
		config.BearerToken = rand.Text()
		fmt.Fprintf(&tokens, "%s,%s,%s,%s\n", config.BearerToken, client.user, client.user, client.group)
		if err := WriteKubeconfig(filepath.Join(c.Dir(), client.file), config); err != nil {
			return err
		}
		if client.user == adminUser {
			c.config = config
		}
	}
	if err := c.write(tokensFile, []byte(tokens.String())); err != nil {
		return err
	}
	own := c.Config()
	own.UserAgent = UserAgent
	clients, err := kubernetes.NewForConfig(own)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	c.clients = clients
	return nil
}

// anonymousConfig trusts the server and has no credentials.
func (c *Cluster) anonymousConfig() *rest.Config {
	return &rest.Config{
		Host:            c.server,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.Certificate},
		QPS:             -1,
	}
}

func (c *Cluster) writeStages() error {
	fast, err := os.ReadFile(c.stages)
	if err != nil {
		return fmt.Errorf("cannot read kwok's stages: %w", err)
	}
	stages := slices.Concat([]string{string(fast)}, podStages(), c.options.stages)
	return c.write(stagesFile, []byte(strings.Join(stages, "\n---\n")))
}
