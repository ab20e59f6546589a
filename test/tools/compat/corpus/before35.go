//go:build before35

package corpus

func since35() []Entry { return nil }
