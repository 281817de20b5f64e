// An OpenID provider (the npm package `oidc-provider`) on a port of this machine, with keys that are
// made when it starts. Every client stands for a user and gets tokens by client credentials; which
// resource it asks for says how its token is signed.
//
//   node oidc_provider.mjs FOLDER PORT

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, port] = process.argv.slice(2);
// Ends when the test does, however that ends.
process.stdin.resume().on('end', () => process.exit());

const require = createRequire(pathToFileURL(`${folder}/`));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const key = (alg, type, options) => {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: `${alg}-${randomUUID()}` };
};
const keys = [
  key('RS256', 'rsa', { modulusLength: 2048 }),
  key('ES256', 'ec', { namedCurve: 'P-256' }),
  key('EdDSA', 'ed25519', {}),
];

const users = {
  ada: { tenant_id: 'north', email: 'ada@north.example' },
  bob: { tenant_id: 'south', email: 'bob@south.example' },
};
const client = (client_id) => ({
  client_id,
  client_secret: `secret-of-${client_id}`,
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
});

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys },
  clients: Object.keys(users).map(client),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: '',
        audience: 'dragoman',
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: resource.split(':').pop() } },
      }),
    },
  },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  ttl: { ClientCredentials: () => 600 },
  extraTokenClaims: (_, token) => users[token.clientId],
});

provider.listen(Number(port), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${port}`);
});
