package operator

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metrics asks the operator that serves metrics at this address for those whose labels contain no
// space, by their names and labels.
func Metrics(ctx context.Context, address string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot read the operator's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it is read to its end
	metrics := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, found := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); found && err == nil {
			metrics[name] = value
		}
	}
	return metrics, lines.Err()
}
