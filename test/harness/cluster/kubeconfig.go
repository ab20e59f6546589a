package cluster

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig file that connects as config does: with the host, the CA, and
// the certificate or token, all contained in the file. With this file, a separate process can act
// as a ServiceAccount.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "trueup"
	file := api.NewConfig()
	file.Clusters[name] = &api.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify:    config.Insecure,
	}
	file.AuthInfos[name] = &api.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("cannot write a kubeconfig: %w", err)
	}
	return nil
}
