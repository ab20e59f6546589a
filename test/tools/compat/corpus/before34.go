//go:build before34

package corpus

func since34() []Entry { return nil }
