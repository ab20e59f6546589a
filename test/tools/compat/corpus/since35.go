//go:build !before35

//nolint:lll // a case a line, as in the table of a test
package corpus

import (
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func since35() []Entry {
	return []Entry{
		{"storagemigration/v1beta1/StorageVersionMigration/plain", &storagemigrationv1beta1.StorageVersionMigration{
			ObjectMeta: global("shops"), Spec: storagemigrationv1beta1.StorageVersionMigrationSpec{
				Resource: metav1.GroupResource{Group: "example.org", Resource: "shops"},
			},
		}},
		{"storagemigration/v1beta1/StorageVersionMigration/nothing", &storagemigrationv1beta1.StorageVersionMigration{ObjectMeta: global("nothing")}},
		{"certificates/v1beta1/PodCertificateRequest/plain", &certificatesv1beta1.PodCertificateRequest{
			ObjectMeta: named("shop"), Spec: certificatesv1beta1.PodCertificateRequestSpec{
				SignerName: "example.org/ca", PodName: "shop", MaxExpirationSeconds: new(int32(0)), UnverifiedUserAnnotations: map[string]string{},
			},
		}},
	}
}
