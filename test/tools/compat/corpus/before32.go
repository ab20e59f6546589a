//go:build before32

package corpus

func since32() []Entry { return nil }
