package operator

import "sigs.k8s.io/controller-runtime/pkg/client"

const ReadWait = readWait

func Bounded(c client.Client) client.Client { return boundedClient{c} }
