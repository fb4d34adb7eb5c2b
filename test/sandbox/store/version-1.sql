-- The SQL of a database with schema 1, for SQLite and PostgreSQL. The tests of the upgrade begin with this database.

create table sandbox_schema (version bigint not null);
insert into sandbox_schema values (1);

create table keys (
  id text primary key,
  kind text not null check (kind in ('signing', 'sealing')),
  material text not null,
  created_at bigint not null
);
create table users (
  id text primary key,
  email text not null unique,
  first_name text not null,
  last_name text not null,
  password_hash text not null,
  created_at bigint not null
);
create table portal_sessions (
  id_hash text primary key,
  user_id text not null references users (id) on delete cascade,
  created_at bigint not null,
  expires_at bigint not null
);
create index portal_sessions_user on portal_sessions (user_id);
create index portal_sessions_expiry on portal_sessions (expires_at);
create table groups (
  id text primary key,
  name text not null,
  created_at bigint not null,
  created_by text not null references users (id)
);
create index groups_creator on groups (created_by);
create table memberships (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  group_id text not null references groups (id) on delete cascade,
  created_at bigint not null,
  created_by text not null,
  unique (user_id, group_id)
);
create index memberships_group on memberships (group_id);
create table applications (
  id text primary key,
  group_id text not null references groups (id),
  link_id text not null unique,
  name text not null,
  description text not null,
  web_page_url text not null,
  icon_url text not null,
  privacy_policy_url text not null,
  redirect_uris text not null,
  default_redirect_uri text not null,
  scopes text not null,
  default_scopes text not null,
  created_at bigint not null,
  created_by text not null,
  updated_at bigint not null,
  updated_by text not null
);
create index applications_group on applications (group_id, created_at, id);
create table client_secrets (
  application_id text not null references applications (id) on delete cascade,
  generation bigint not null,
  hash text not null,
  created_at bigint not null,
  primary key (application_id, generation)
);
create table app_access_tokens (
  id text primary key,
  application_id text not null references applications (id) on delete cascade,
  created_at bigint not null,
  expires_at bigint not null
);
create index app_access_tokens_application on app_access_tokens (application_id);
create index app_access_tokens_expiry on app_access_tokens (expires_at);
create table consents (
  user_id text not null references users (id) on delete cascade,
  application_id text not null references applications (id) on delete cascade,
  created_at bigint not null,
  primary key (user_id, application_id)
);
create index consents_application on consents (application_id);
create table finished_authorizations (
  id text primary key,
  expires_at bigint not null
);
create index finished_authorizations_expiry on finished_authorizations (expires_at);
create table grants (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  application_id text references applications (id) on delete cascade,
  created_at bigint not null,
  expires_at bigint not null,
  revoked_at bigint,
  code_hash text unique,
  redirect_uri text not null,
  state_hash text not null,
  code_challenge text not null,
  redeemed_at bigint,
  refresh_token_hash text unique,
  refresh_expires_at bigint,
  generation bigint not null
);
create index grants_user on grants (user_id, application_id);
create index grants_application on grants (application_id);
create index grants_expiry on grants (expires_at);
create table spent_refresh_tokens (
  hash text primary key,
  grant_id text not null references grants (id) on delete cascade,
  generation bigint not null,
  spent_at bigint not null
);
create index spent_refresh_tokens_grant on spent_refresh_tokens (grant_id);
create table failures (
  bucket text primary key,
  count bigint not null,
  window_ends_at bigint not null
);
create index failures_expiry on failures (window_ends_at);

insert into keys (id, kind, material, created_at) values
  ('1fab4b9b-0c50-4175-8972-869c0de023e3', 'signing', '{"kty":"EC","x":"mz-zv7ru6dRqcZkEr8L7CLcnx9vqks5RNVlErNFK4KU","y":"EneeOv-Q73zkULQ2GPxXtWeWLVGkXTvaP8GxSJEklCI","crv":"P-256","d":"MaRRHUMh9iKA1Z8_0bguZ8A7W2qgYeKyYDRuH5EsKAY"}', 1772366400000),
  ('6d5c13a2-08f1-41ac-8312-bff349bcb6b1', 'sealing', 'QsLAI6uMgiWt9jY9_Rkg2o4ZNMlf7NDZOzkaw9V8kgU', 1772366400000);

insert into users (id, email, first_name, last_name, password_hash, created_at) values
  ('46a8e51e-5b64-489b-af56-3c28c93158ed', 'developer@example.test', 'Sandbox', 'Developer', '$argon2id$v=19$m=19456,t=2,p=1$EWYXOQaWLxiXd448pjoyUw$FSE29utEYAfR9ubxfFmQngNVt96IF1WWsv6-aO3jylo', 1772366400000),
  ('c98739d0-315a-4602-a724-eeb2a8322975', 'stranger@example.test', 'S', 'T', '$argon2id$v=19$m=19456,t=2,p=1$vZacbHnFSubzbl7jXzRM4Q$TCfX8yvU1MbWyBFyFBbS9riZpy5O5QVZxVWSBrfnLmY', 1772366460000);

insert into portal_sessions (id_hash, user_id, created_at, expires_at) values
  ('Ss9gkzR_hRaqKYdcdVR9sSRh1rbXtGpxaKBcwHG9_m4', '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366400000, 1772370000000),
  ('sSXYGkQw6jlNx0KxgL5-GxJGAzWTFZpFVLTRgb7DReU', '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366400000, 1772370000000),
  ('s9Iu3LiTR2aK56w8DNmVt1ry7cEUWNXd6fepPaqk2aI', 'c98739d0-315a-4602-a724-eeb2a8322975', 1772366460000, 1772370060000),
  ('KcDVjPjH3Yr75870UL5UKwMW8_tSXnwTXcaqxh6GwC0', '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366640000, 1772370240000),
  ('6vGQekapzdh9WTdzCLhOj0SRJslnJ3Cb6uVVXWYGAJk', '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366640000, 1772370240000);

insert into groups (id, name, created_at, created_by) values
  ('656edbab-1b9c-4584-9897-adba05ec39a7', 'Sandbox developers', 1772366400000, '46a8e51e-5b64-489b-af56-3c28c93158ed'),
  ('661443b1-f2da-4f5b-ae05-4a504b945e21', 'The stranger’s own', 1772366460000, 'c98739d0-315a-4602-a724-eeb2a8322975');

insert into memberships (id, user_id, group_id, created_at, created_by) values
  ('b8d76e54-e70c-4e02-8eda-b6ab774f760e', '46a8e51e-5b64-489b-af56-3c28c93158ed', '656edbab-1b9c-4584-9897-adba05ec39a7', 1772366400000, '46a8e51e-5b64-489b-af56-3c28c93158ed'),
  ('a9886038-f62c-4502-a697-3de03e08e19e', 'c98739d0-315a-4602-a724-eeb2a8322975', '661443b1-f2da-4f5b-ae05-4a504b945e21', 1772366460000, 'c98739d0-315a-4602-a724-eeb2a8322975');

insert into applications (id, group_id, link_id, name, description, web_page_url, icon_url, privacy_policy_url, redirect_uris, default_redirect_uri, scopes, default_scopes, created_at, created_by, updated_at, updated_by) values
  ('5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', '656edbab-1b9c-4584-9897-adba05ec39a7', '102207a5-f9ce-482c-a247-ca5022ee2ba2', 'Reference client', 'Lists and creates your applications.', '', '', '', 'http://localhost:3000/exchangeToken,https://client.example.test/exchangeToken', 'http://localhost:3000/exchangeToken', '', '', 1772366400000, '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366580000, '46a8e51e-5b64-489b-af56-3c28c93158ed'),
  ('56e12c4b-6106-4cfa-97b0-5ef3447575e9', '656edbab-1b9c-4584-9897-adba05ec39a7', 'ae8a581e-6f09-4c95-a5f3-71096248fbd0', 'Weather', 'Shows the weather.', 'https://weather.example.test/', 'https://weather.example.test/icon.png', 'https://weather.example.test/privacy', 'https://weather.example.test/exchangeToken,http://localhost:3000/exchangeToken', 'http://localhost:3000/exchangeToken', '', '', 1772366400000, '46a8e51e-5b64-489b-af56-3c28c93158ed', 1772366400000, '46a8e51e-5b64-489b-af56-3c28c93158ed'),
  ('ee9ef83c-a064-4c62-b443-bc3cb645a8b2', '661443b1-f2da-4f5b-ae05-4a504b945e21', '41eadfee-d85b-45f9-ad7c-bef172fa8e81', 'Weather', 'Shows the weather.', 'https://weather.example.test/', 'https://weather.example.test/icon.png', 'https://weather.example.test/privacy', 'https://weather.example.test/exchangeToken,http://localhost:3000/exchangeToken', 'http://localhost:3000/exchangeToken', '', '', 1772366460000, 'c98739d0-315a-4602-a724-eeb2a8322975', 1772366460000, 'c98739d0-315a-4602-a724-eeb2a8322975');

insert into client_secrets (application_id, generation, hash, created_at) values
  ('56e12c4b-6106-4cfa-97b0-5ef3447575e9', 1, '59HB_W_l-4WYSHHwmIu3jFgbSFPMq1y9_hCt8ud72O8', 1772366400000),
  ('ee9ef83c-a064-4c62-b443-bc3cb645a8b2', 1, 'H06dHNiApYFF6MnyCsdLuFrt_34O1HB-8gcR-8IH8KY', 1772366460000),
  ('5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 2, '45CxufdrVW0SrH3E-mDDW3_1iiZhL-XUxITiEznF1lE', 1772366520000),
  ('5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 3, '8p20mtUDugrVV9XYZO9xtJgpLnlG7Ix2aqZZUQBhVG0', 1772366580000);

insert into app_access_tokens (id, application_id, created_at, expires_at) values
  ('91957a45-d801-4690-a43f-6c2ec2716d5b', '56e12c4b-6106-4cfa-97b0-5ef3447575e9', 1772366400000, 1835438400000),
  ('3ffcefb8-9464-42c6-8bd4-54bcb2439073', '56e12c4b-6106-4cfa-97b0-5ef3447575e9', 1772366400000, 1835438400000),
  ('a7deef92-72f5-4a7f-bc13-20092ffcedc4', 'ee9ef83c-a064-4c62-b443-bc3cb645a8b2', 1772366460000, 1835438460000),
  ('ef642098-2d54-4aaf-a166-1667ae881aa8', 'ee9ef83c-a064-4c62-b443-bc3cb645a8b2', 1772366460000, 1835438460000);

insert into consents (user_id, application_id, created_at) values
  ('46a8e51e-5b64-489b-af56-3c28c93158ed', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366400000),
  ('c98739d0-315a-4602-a724-eeb2a8322975', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366460000);

insert into finished_authorizations (id, expires_at) values
  ('6097ce69-4529-4299-b4a7-dcb137433458', 1772368200000),
  ('f1169113-45ef-4770-92b5-45d85341c066', 1772368260000);

insert into grants (id, user_id, application_id, created_at, expires_at, revoked_at, code_hash, redirect_uri, state_hash, code_challenge, redeemed_at, refresh_token_hash, refresh_expires_at, generation) values
  ('c86e530a-7255-4118-977b-83a9caf3023e', '46a8e51e-5b64-489b-af56-3c28c93158ed', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366400000, 1780142400000, null, '11fTslE-qkNBpz6rBO-0n5i2lZAfat1q-cyfeM2L1vY', 'http://localhost:3000/exchangeToken', '7mtV7ezhQE1sCoX7UAWOkFBmtAF2Wf6lX0hIXgrYzWU', '', 1772366400000, 'd-Ooh1LNzA9m9vIEIbh65HweMlKlDhBhOEMTXjldmiE', 1773576000000, 0),
  ('36b7b963-b115-4f94-b7a3-979200228105', '46a8e51e-5b64-489b-af56-3c28c93158ed', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366400000, 1780142400000, null, 'ZyZzEzgOTQR2YC1uBc4Uf000z7ZFiSRMv6R_UmcpRNQ', 'http://localhost:3000/exchangeToken', '7mtV7ezhQE1sCoX7UAWOkFBmtAF2Wf6lX0hIXgrYzWU', '', 1772366400000, 'JofRIryAZI1BkPGbNq4jBbhHWXu3iE2QkPMObXAXCbY', 1773576000000, 0),
  ('67f48446-1d09-409b-93e3-27dc2e765a9a', 'c98739d0-315a-4602-a724-eeb2a8322975', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366460000, 1780142460000, null, 'ey3JKvGJa1C0YSxQBO54w7cp4fO2L1eVs5nYCwOUp_c', 'http://localhost:3000/exchangeToken', '7mtV7ezhQE1sCoX7UAWOkFBmtAF2Wf6lX0hIXgrYzWU', '', 1772366460000, 'SRNEfFpHQajnUuo0E0WxEA4XYlYELmk_tIi2VWVeLps', 1773576060000, 0),
  ('7fa85b2b-bff5-48d9-896e-372cf5f0a85c', '46a8e51e-5b64-489b-af56-3c28c93158ed', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366640000, 1780142640000, null, 'HrOFSI9N3LhzUw_iHR8bqvlDzsohrTQFUfyRyWJoRLE', 'http://localhost:3000/exchangeToken', '7mtV7ezhQE1sCoX7UAWOkFBmtAF2Wf6lX0hIXgrYzWU', '', 1772366640000, '6YY1BCK96ZttOnVGtdcRArOJ30In4R3eQao-2RWP4iA', 1773576240000, 1),
  ('d5c1578f-fc8c-4add-9184-ca2af9be50e1', '46a8e51e-5b64-489b-af56-3c28c93158ed', '5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1772366640000, 1780142640000, null, '9IsqlbTnlcqjs7UWXnl50rLklYaVWQ0SK1ClzEbNMRg', 'http://localhost:3000/exchangeToken', '7mtV7ezhQE1sCoX7UAWOkFBmtAF2Wf6lX0hIXgrYzWU', '', 1772366640000, 'gHl3XMQ1TEF-8SDx6H9HKwnuMTgVWaE8yP6q5PeMoPQ', 1773576240000, 0);

insert into spent_refresh_tokens (hash, grant_id, generation, spent_at) values
  ('usgIe4df7OHQYyNhT7dfj-AMxyjwpp2lhhWmjMzgaaw', '7fa85b2b-bff5-48d9-896e-372cf5f0a85c', 1, 1772366640000);

insert into failures (bucket, count, window_ends_at) values
  ('sign-ups 127.0.0.1', 1, 1772370060000),
  ('client 5a0e3f4c-52f5-4d2e-9a49-0a4f7d8f7c11', 1, 1772367480000),
  ('address 127.0.0.1', 1, 1772367480000);
