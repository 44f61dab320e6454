package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	openai "github.com/sashabaranov/go-openai"
)

func client(token string) *openai.Client {
	config := openai.DefaultConfig(token)
	config.BaseURL = url + "/v1"
	return openai.NewClientWithConfig(config)
}

func user(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
}

func ask(token string, request openai.ChatCompletionRequest) (openai.ChatCompletionMessage, error) {
	request.Model = chatModel
	answer, err := client(token).CreateChatCompletion(context.Background(), request)
	if err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	return answer.Choices[0].Message, nil
}

func said(messages ...openai.ChatCompletionMessage) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Messages: messages}
}

func hello(token string) (facts, error) {
	message, err := ask(token, said(user("Say hello.")))
	return facts{"said": message.Content}, err
}

func stream() (facts, error) {
	request := said(user("Say hello."))
	request.Model = chatModel
	events, err := client(token).CreateChatCompletionStream(context.Background(), request)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	text, pieces := "", 0
	for {
		chunk, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return facts{"said": text, "pieces": pieces}, nil
		}
		if err != nil {
			return nil, err
		}
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			text += chunk.Choices[0].Delta.Content
			pieces++
		}
	}
}

func tools() (facts, error) {
	function := openai.FunctionDefinition{
		Name:        "weather",
		Description: "The weather of a city.",
		Parameters:  citySchema,
	}
	request := said()
	request.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &function}}
	text := ""
	for _, question := range questions {
		request.Messages = append(request.Messages, user(question))
		for {
			message, err := ask(token, request)
			if err != nil {
				return nil, err
			}
			request.Messages = append(request.Messages, message)
			for _, call := range message.ToolCalls {
				request.Messages = append(request.Messages, openai.ChatCompletionMessage{
					Role:       openai.ChatMessageRoleTool,
					Content:    weather(call.Function.Arguments),
					ToolCallID: call.ID,
				})
			}
			if len(message.ToolCalls) == 0 {
				text = message.Content
				break
			}
		}
	}
	return facts{"said": text, "calls": toolRuns}, nil
}

func structured() (facts, error) {
	schema, err := json.Marshal(citySchema)
	if err != nil {
		return nil, err
	}
	request := said(user("Name a city."))
	request.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
			Name:   "city",
			Schema: json.RawMessage(schema),
			Strict: true,
		},
	}
	message, err := ask(token, request)
	if err != nil {
		return nil, err
	}
	return cityOf(message.Content)
}

func picture() (facts, error) {
	message, err := ask(token, said(openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleUser,
		MultiContent: []openai.ChatMessagePart{
			{Type: openai.ChatMessagePartTypeText, Text: "What is this?"},
			{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: pixelURL}},
		},
	}))
	return facts{"said": message.Content}, err
}

func image() (facts, error) {
	made, err := client(token).CreateImage(context.Background(), openai.ImageRequest{
		Model:          imageModel,
		Prompt:         "a gate",
		Size:           openai.CreateImageSize512x512,
		ResponseFormat: openai.CreateImageResponseFormatB64JSON,
	})
	if err != nil {
		return nil, err
	}
	bytes, err := base64.StdEncoding.DecodeString(made.Data[0].B64JSON)
	if err != nil {
		return nil, err
	}
	return facts{"said": string(bytes[1:4])}, nil
}

func embedding() (facts, error) {
	made, err := client(token).CreateEmbeddings(context.Background(), openai.EmbeddingRequest{
		Model: openai.EmbeddingModel(embeddingModel),
		Input: "hello",
	})
	if err != nil {
		return nil, err
	}
	return facts{"said": strconv.Itoa(len(made.Data[0].Embedding))}, nil
}

func main() {
	feature("chat", func() (facts, error) { return hello(token) })
	feature("stream", stream)
	feature("tools", tools)
	feature("structured", structured)
	feature("picture", picture)
	feature("image", image)
	feature("embedding", embedding)
	absent("state")
	refusals(hello)
}
