package hash_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/trueup-go/trueup/hash"
)

// BenchmarkDigest sets the digest beside what operators write by hand: the
// SHA-256 of json.Marshal.
func BenchmarkDigest(b *testing.B) {
	for _, c := range []struct {
		name string
		obj  hash.Obj
	}{
		{"FullDeployment", fullDeployment()},
		{"MinimalDeployment", minimalDeployment()},
		{"ConfigMap", configMap()},
		{"Service", service()},
	} {
		b.Run(c.name+"/trueup", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := hash.Object(c.obj); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/json+sha256", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := marshalAndHash(c.obj); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func marshalAndHash(obj hash.Obj) (string, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
